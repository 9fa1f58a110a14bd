import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";

import { InputError, ModelError, load } from "../src/index.js";
import { ModelFolder } from "../src/files.js";
import { readModel } from "../src/model.js";
import { Subwords } from "../src/words.js";
import { exportModel } from "./model.js";

const RARE = "Świętokrzyskie przedsiębiorstwo współpracuje."; // words that no Dutch text has
/** @type {ReturnType<typeof exportModel>} */
let model;
/** @type {import("../src/index.js").Parser} */
let parser;

before(async () => {
  model = exportModel();
  parser = await load(model.folder);
});
after(() => model.remove());

test("a text becomes records with tokens, constituents and confidences", async () => {
  const text = "Ik heb het hem niet kunnen zeggen. Wie komt er?";
  const records = await parser.parse(text);
  assert.deepEqual(
    records.map((record) => record.id),
    ["1", "2"],
  );
  const [{ tokens, constituents, confidence }] = records;
  assert.deepEqual(tokens[0], {
    form: "Ik",
    tag: "vnw",
    lemma: "ik",
    morph: "VNW(pers,pron,nomin,vol,1,ev)",
    function: "su",
    start: 0,
    end: 2,
  });
  assert(tokens.every(({ form, start, end }) => text.slice(start, end) === form));
  assert.deepEqual(
    constituents.map(({ label, positions }) => `${label} ${positions.join()}`),
    ["ROOT 0,1,2,3,4,5,6,7", "smain 0,1,2,3,4,5,6", "inf 2,3,4,5,6", "inf 2,3,4,6"],
  );
  assert.equal(constituents[0].confidence, 1);
  assert(confidence > 0.9 && confidence < 1);
});

test("accents may be characters of their own", async () => {
  const text = "Zij heeft één café gezien.";
  const read = async (/** @type {string} */ some) => {
    const [{ tokens, constituents }] = await parser.parse(some);
    return [tokens.map(({ tag, lemma }) => [tag, lemma]), constituents.map(({ label, positions }) => [label, positions])];
  };
  assert.deepEqual(await read(text.normalize("NFD")), await read(text));
});

test("the example of the README runs as shown", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf-8");
  const example = readme.split("```js\n")[1].split("```")[0];
  const code = example
    .replace('"discotree"', JSON.stringify(new URL("../src/index.js", import.meta.url).href))
    .replace('"models/nl"', JSON.stringify(model.folder));
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", code], { encoding: "utf-8" });
  const shown = example.split("\n").filter((line) => line.startsWith("// "));
  assert.deepEqual(output.trim().split("\n"), shown.map((line) => line.slice(3)));
});

test("the parser describes its model", () => {
  assert.equal(parser.name, "nl");
  assert.equal(parser.language, "nl");
  assert.equal(/** @type {{licence: string}} */ (parser.card).licence, "LGPL-2.1-or-later");
  assert(parser.inventory.labels.includes("smain"));
  assert(parser.inventory.tags.includes("vnw"));
  assert(parser.inventory.functions.includes("su"));
});

test("words are parsed as they are, and in any batch the same", async () => {
  const sentences = ["Wie komt er ?", "Ja", "Zij heeft het boek gisteren niet gelezen .", "Ja"].map((s) => s.split(" "));
  const together = await parser.parseTokens(sentences);
  for (const [number, words] of sentences.entries()) {
    const [alone] = await parser.parseTokens([words]);
    assert.deepEqual(
      together[number].constituents.map(({ label, positions }) => [label, positions]),
      alone.constituents.map(({ label, positions }) => [label, positions]),
    );
    assert.equal(together[number].tokens[0].start, undefined);
  }
});

test("a sentence may be very long", async () => {
  const words = Array.from({ length: 1200 }, (_, k) => (k % 20 === 19 ? ";" : ["de", "man", "ziet", "haar"][k % 4]));
  const [record] = await parser.parseTokens([words]);
  assert.equal(record.constituents[0].positions.length, 1200);
  for (const { positions } of record.constituents) {
    assert(positions.every((position, k) => k === 0 || positions[k - 1] < position));
  }
  assert(record.confidence > 0 && record.confidence < 1);
});

test("text that cannot be parsed is an error that says why", async () => {
  assert.deepEqual(await parser.parse(" \n "), []);
  await assert.rejects(parser.parseTokens([["Ja"], []]), new InputError("sentence 2 has no words"));
  await assert.rejects(parser.parseTokens([["Ja", ""]]), /sentence 1 has an empty word at position 1/);
  await assert.rejects(parser.parseTokens([new Array(10_001).fill("a")]), /has 10001 words, expected at most 10000/);
  // @ts-expect-error: a number is not a text
  await assert.rejects(parser.parse(7), /expected a text, got number/);
  // @ts-expect-error: a string is not a list of words
  await assert.rejects(parser.parseTokens(["Ja"]), /expected a sentence as a list of words, got string/);
});

test("parsing can be cancelled", async () => {
  const control = new AbortController();
  setTimeout(() => control.abort(), 10);
  const text = "De man ziet haar. ".repeat(2000);
  await assert.rejects(parser.parse(text, { signal: control.signal }), { name: "AbortError" });
  assert.equal((await parser.parse("Ja.")).length, 1);
});

test("several calls at once do not disturb each other", async () => {
  const texts = ["Wie komt er?", "Ik heb het hem niet kunnen zeggen.", "Ja."];
  const found = await Promise.all(texts.map((text) => parser.parse(text)));
  for (const [k, text] of texts.entries()) assert.deepEqual(found[k], await parser.parse(text));
});

/** A small Cache API, which Node does not have. */
class FakeCaches {
  /** @type {Map<string, Response>} */
  entries = new Map();
  async open() {
    return {
      match: async (/** @type {URL} */ key) => this.entries.get(String(key))?.clone(),
      put: async (/** @type {URL} */ key, /** @type {Response} */ value) => void this.entries.set(String(key), value),
      delete: async (/** @type {URL} */ key) => this.entries.delete(String(key)),
    };
  }
}

test("a model on a server is cached: the second visit works offline, a new version replaces the old one", async () => {
  /** @type {string[]} */
  let asked = [];
  /** @type {Map<string, Buffer>} */
  const changed = new Map();
  let online = true;
  const server = createServer((request, response) => {
    const name = String(request.url).slice("/models/nl/".length);
    asked.push(name);
    if (!online) return void request.socket.destroy();
    response.end(changed.get(name) ?? readFileSync(`${model.folder}/${name}`));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const address = `http://127.0.0.1:${port}/models/nl`;
  const caches = new FakeCaches();
  Object.assign(globalThis, { caches });
  try {
    /** @type {number[]} */
    const shares = [];
    const first = await load(address, { onProgress: ({ loaded, total }) => shares.push(loaded / total) });
    assert.equal((await first.parse("Ja.")).length, 1);
    assert(shares.length > 4 && shares.at(-1) === 1 && shares.every((share, k) => k === 0 || shares[k - 1] <= share));
    assert.deepEqual(asked.toSorted(), [
      "card.json",
      "labeler.onnx.gz",
      "model.json",
      "network.onnx.gz",
      "subwords.safetensors.gz",
    ]);
    asked = [];
    await load(`${address}/`);
    // The second visit loads the vectors of rare sub-words in the background.
    while (caches.entries.size < 6) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.deepEqual(asked.toSorted(), ["card.json", "model.json", "rare-subwords.safetensors.gz"]);
    online = false;
    const offline = await load(address);
    assert.equal((await offline.parse(RARE)).length, 1);
    assert.equal(/** @type {{name: string}} */ (offline.card).name, "nl");
    online = true;
    const index = JSON.parse(readFileSync(`${model.folder}/model.json`, "utf-8"));
    const old = index.files["labeler.onnx.gz"].sha256;
    index.files["labeler.onnx.gz"].sha256 = "0".repeat(64);
    changed.set("model.json", Buffer.from(JSON.stringify(index)));
    await assert.rejects(load(address), /labeler\.onnx\.gz: damaged or not of this model/);
    assert(![...caches.entries.keys()].some((key) => key.includes(old)));
  } finally {
    server.close();
    Reflect.deleteProperty(globalThis, "caches");
  }
});

test("the vectors of rare sub-words are loaded when a text needs them", async () => {
  /** @type {string[]} */
  const asked = [];
  let online = true;
  const original = globalThis.fetch;
  globalThis.fetch = async (input) => {
    const name = String(input).split("/").at(-1) ?? "";
    asked.push(name);
    if (!online) throw new TypeError("offline");
    return new Response(readFileSync(`${model.folder}/${name}`));
  };
  try {
    const other = await load("http://example.org/nl");
    await other.parse("Ik heb het hem niet kunnen zeggen.");
    assert(!asked.includes("rare-subwords.safetensors.gz"));
    online = false;
    await assert.rejects(other.parse(RARE), /rare-subwords\.safetensors\.gz: cannot be read: offline/);
    online = true;
    assert.deepEqual(await other.parse(RARE), await parser.parse(RARE));
    assert.equal(asked.filter((name) => name === "rare-subwords.safetensors.gz").length, 2);
  } finally {
    globalThis.fetch = original;
  }
});

test("a missing model is an error that says what was expected", async () => {
  await assert.rejects(load("nowhere/nl"), (error) => {
    assert(error instanceof ModelError);
    assert.match(error.message, /nowhere\/nl\/model\.json: cannot be read.*discotree export MODEL --web FOLDER/);
    return true;
  });
});

test("a damaged or hostile index is a ModelError", () => {
  const good = JSON.parse(readFileSync(`${model.folder}/model.json`, "utf-8"));
  readModel(good, "model.json");
  const hostile = [null, 7, -1, 1e308, 2 ** 53, "x", "x".repeat(2000), [], [[]], [7], {}, { a: 1 }, { a: {} }, true];
  let refused = 0;
  for (const key of Object.keys(good)) {
    for (const value of [undefined, ...hostile]) {
      try {
        readModel({ ...good, [key]: value }, "model.json");
      } catch (error) {
        assert(error instanceof ModelError, `${key}: ${error}`);
        assert.match(error.message, /^model\.json: /);
        refused++;
      }
    }
  }
  assert(refused > 200);
  for (const key of Object.keys(good.calibration)) {
    for (const value of [undefined, null, "x", NaN, { a: 1 }, [[1, 2]]]) {
      if (key === "fitted" || key === "format" || (key === "labels" && JSON.stringify(value) === '{"a":1}')) continue;
      const calibration = { ...good.calibration, [key]: value };
      assert.throws(() => readModel({ ...good, calibration }, "model.json"), ModelError, key);
    }
  }
  for (const value of [null, 7, "x", [], {}]) assert.throws(() => readModel(value, "model.json"), ModelError);
});

/** Replace files of the model on a server that exists in memory. @param {Record<string, Uint8Array<ArrayBuffer> | string>} files */
function withFiles(files) {
  const original = globalThis.fetch;
  globalThis.fetch = async (input) => {
    const name = String(input).split("/").at(-1) ?? "";
    return new Response(files[name] ?? readFileSync(`${model.folder}/${name}`));
  };
  return () => void (globalThis.fetch = original);
}

test("damaged files are ModelErrors, and nothing hangs", async () => {
  const index = JSON.parse(readFileSync(`${model.folder}/model.json`, "utf-8"));
  const read = (/** @type {string} */ name) => new Uint8Array(readFileSync(`${model.folder}/${name}`));
  /** @type {[Record<string, Uint8Array<ArrayBuffer> | string>, RegExp][]} */
  const cases = [
    [{ "model.json": "{" }, /model\.json: not JSON/],
    [{ "model.json": Uint8Array.of(0xff, 0xfe) }, /model\.json: not JSON/],
    [{ "network.onnx.gz": read("network.onnx.gz").subarray(0, 1000) }, /network\.onnx\.gz: damaged/],
    [{ "network.onnx.gz": "no graph" }, /ONNX Runtime cannot load the network/],
    [{ "subwords.safetensors.gz": "no tensors" }, /subwords\.safetensors\.gz: not a safetensors file/],
  ];
  for (const [files, message] of cases) {
    const restore = withFiles(files);
    try {
      await assert.rejects(load("http://example.org/nl"), (error) => {
        assert(error instanceof ModelError, String(error));
        assert.match(error.message, message);
        return true;
      });
    } finally {
      restore();
    }
  }
  // Files that belong to other models: the wrong shapes are noticed when they are used.
  /** @type {[object, RegExp][]} */
  const wrong = [
    [{ labels: index.labels.slice(1) }, /the labeler gives float32 .* as weights, expected/],
    [{ label_size: 7 }, /the network gives float32 .* as dependents, expected/],
    [{ outputs: { ...index.outputs, tag: ["x"] } }, /the network gives an unknown class of tag/],
    [{ outputs: { other: ["x"] } }, /the network gives nothing as other\.classes/],
    [{ characters: false }, /the network has an unknown input (chars|form)/],
  ];
  for (const [changes, message] of wrong) {
    const restore = withFiles({ "model.json": JSON.stringify({ ...index, ...changes }) });
    try {
      const other = await load("http://example.org/nl");
      await assert.rejects(other.parse("Ik heb het hem niet kunnen zeggen."), message);
      await other.release();
    } finally {
      restore();
    }
  }
});

test("a table of sub-words with wrong numbers is a ModelError", () => {
  /** @param {object} header @param {number} size */
  const file = (header, size) => {
    const text = new TextEncoder().encode(JSON.stringify(header));
    const bytes = new Uint8Array(8 + text.length + size);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
    bytes.set(text, 8);
    return bytes;
  };
  const tensor = (/** @type {string} */ dtype, /** @type {unknown[]} */ ...data_offsets) => ({ dtype, data_offsets });
  const bad = [
    file({}, 0),
    file([], 0),
    file({ pieces: tensor("U8", 0, 1e15) }, 10),
    file({ pieces: tensor("U8", 5, 2) }, 10),
    file({ pieces: tensor("U8", "0", "1") }, 10),
    file({ pieces: tensor("U8", 0, 1), scores: tensor("F32", 1, 5), scale: tensor("F32", 1, 5), values: tensor("I8", 0, 0) }, 10),
    file({ pieces: tensor("U8", 0, 1), scores: tensor("F32", 1, 9), scale: tensor("F32", 1, 5), values: tensor("I8", 0, 4) }, 10),
    new Uint8Array(3),
    new Uint8Array(20).fill(255),
  ];
  for (const bytes of bad) assert.throws(() => new Subwords(bytes, "subwords", async () => bytes), ModelError);
});

test("a file that grows too much when it is decompressed is refused", async () => {
  const bomb = new Uint8Array(gzipSync(Buffer.alloc(1 << 20)));
  const restore = withFiles({ "network.onnx.gz": bomb });
  try {
    const folder = new ModelFolder("http://example.org/nl", 1 << 16);
    const sha256 = createHash("sha256").update(bomb).digest("hex");
    await assert.rejects(folder.binary("network.onnx.gz", { bytes: 1, sha256 }, () => {}), /more than 65536 bytes/);
  } finally {
    restore();
  }
});
