// The worker of a page without a server. It gets { id, model, text }, with the address of a model, and answers { id, progress } while the
// model is downloaded, and then { id, trees } or { id, error }. Without a text, it only loads the model.

import { load } from "../parser/index.js";
import * as ort from "../runtime/ort.wasm.bundle.min.mjs";

const promises = new Map(); // of parsers by address, and that of the runtime

/** Load the binary of ONNX Runtime, which is compressed because many hosts do not compress it. */
async function loadRuntime() {
  const response = await fetch(new URL("../runtime/ort-wasm-simd-threaded.wasm.gz", import.meta.url));
  if (!response.ok) throw new Error(`${response.url}: the server answers ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const isCompressed = bytes[0] === 0x1f && bytes[1] === 0x8b; // some hosts send such a file decompressed
  const stream = new Blob([bytes]).stream();
  ort.env.wasm.wasmBinary = await new Response(isCompressed ? stream.pipeThrough(new DecompressionStream("gzip")) : stream).arrayBuffer();
}

/** Return the promise that `make` gave before for this key, or a new one if that failed. */
function once(key, make) {
  if (!promises.has(key)) promises.set(key, make());
  promises.get(key).catch(() => promises.delete(key));
  return promises.get(key);
}

const parserOf = (model, onProgress) => once(model, async () => {
  await once("runtime", loadRuntime);
  return load(model, { ort, onProgress });
});

onmessage = async ({ data: { id, model, text } }) => {
  try {
    const parser = await parserOf(model, ({ loaded, total }) => postMessage({ id, progress: loaded / total }));
    postMessage({ id, trees: text === undefined ? [] : await parser.parse(text) });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
};
