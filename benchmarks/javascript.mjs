// Parse texts with the JavaScript package: node benchmarks/javascript.mjs FOLDER < texts.json > records.json
// The input is a JSON list of texts, the output an object with a list of records for each, and times.
import { readFileSync, writeFileSync } from "node:fs";

import { load } from "../js/src/index.js";

/** Milliseconds of processor time: those of other processes do not count. */
function now() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const { texts, sentence, rounds } = JSON.parse(readFileSync(0, "utf-8"));
const begin = now();
const parser = await load(process.argv[2]);
const loaded = now() - begin;
const records = [];
for (const text of texts) records.push(await parser.parse(text));
const single = [];
for (let round = 0; round < rounds; round++) {
  const start = now();
  await parser.parse(sentence);
  single.push(now() - start);
}
const whole = texts.slice(0, 400).join("\n\n");
let together = 0;
let seconds = 0;
if (rounds) {
  const start = now();
  together = (await parser.parse(whole)).length;
  seconds = (now() - start) / 1000;
}
const times = { loaded, single, perSecond: together / seconds };
writeFileSync(1, JSON.stringify({ records, times }));
