// Parse texts with the JavaScript package: node benchmarks/javascript.mjs FOLDER < texts.json > records.json
// The input is a JSON list of texts, the output an object with a list of records for each, and times.
import { readFileSync, writeFileSync } from "node:fs";

import { load } from "../js/src/index.js";

const { texts, sentence, rounds } = JSON.parse(readFileSync(0, "utf-8"));
const begin = performance.now();
const parser = await load(process.argv[2]);
const loaded = performance.now() - begin;
const records = [];
for (const text of texts) records.push(await parser.parse(text));
const single = [];
for (let round = 0; round < rounds; round++) {
  const start = performance.now();
  await parser.parse(sentence);
  single.push(performance.now() - start);
}
const whole = texts.slice(0, 400).join("\n\n");
let together = 0;
let seconds = 0;
if (rounds) {
  const start = performance.now();
  together = (await parser.parse(whole)).length;
  seconds = (performance.now() - start) / 1000;
}
const times = { loaded, single, perSecond: together / seconds };
writeFileSync(1, JSON.stringify({ records, times }));
