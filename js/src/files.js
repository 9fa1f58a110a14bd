/**
 * The files of a model: from a folder in Node, from a web server in browsers and workers. There, files are kept in the
 * browser's cache under their digests, so that a second visit works offline and models share equal files.
 */

import { ModelError, messageOf } from "./errors.js";

/** @typedef {{loaded: number, total: number}} Progress */
/** @typedef {{bytes: number, sha256: string}} FileInfo */

const CACHE = "discotree";
const MAX_BYTES = 1 << 30; // of one file, also after decompression
const GZIP = [0x1f, 0x8b];

export class ModelFolder {
  /** @type {URL | undefined} */
  #url;
  /** @type {Promise<Cache | undefined>} */
  #cache;

  /** @param {string | URL} location a folder or an address @param {number} [maxBytes] of one file */
  constructor(location, maxBytes = MAX_BYTES) {
    this.maxBytes = maxBytes;
    /** Whether a large file came from the browser's cache. */
    this.wasCached = false;
    this.location = String(location).replace(/\/+$/, "");
    const base = globalThis.location?.href; // undefined in Node
    if (location instanceof URL || base || /^[a-z]+:\/\//i.test(this.location)) {
      try {
        this.#url = new URL(`${this.location}/`, base);
      } catch {
        throw new ModelError(`${this.location}: not an address`);
      }
    }
    this.#cache = this.#openCache();
  }

  async #openCache() {
    if (!this.#url?.protocol.startsWith("http")) return undefined;
    try {
      return await globalThis.caches?.open(CACHE);
    } catch {
      return undefined; // storage is blocked; the model works without it
    }
  }

  /**
   * Read a small file as JSON. It is always fetched, so that a new version of a model is seen; the cached copy is for
   * those who are offline.
   * @param {string} name @returns {Promise<unknown>}
   */
  async json(name) {
    let bytes;
    if (!this.#url || this.#url.protocol === "file:") {
      bytes = await this.#readLocal(name);
    } else {
      const address = new URL(name, this.#url);
      const cache = await this.#cache;
      let response;
      try {
        response = await fetch(address, { cache: "no-cache" });
        if (!response.ok) throw new ModelError(`${address}: the server answers ${response.status}`);
        bytes = await this.#body(response, name);
        await this.#forget(cache, address, bytes);
      } catch (error) {
        const stored = await cache?.match(address);
        if (!stored) throw this.#failure(name, error);
        bytes = new Uint8Array(await stored.arrayBuffer());
      }
    }
    try {
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch (error) {
      throw new ModelError(`${this.location}/${name}: not JSON: ${messageOf(error)}`);
    }
  }

  /**
   * Store an index, and drop the files that only its previous version names.
   * @param {Cache | undefined} cache @param {URL} address @param {Uint8Array<ArrayBuffer>} bytes
   */
  async #forget(cache, address, bytes) {
    if (!cache) return;
    try {
      const previous = await cache.match(address);
      const digests = previous ? (await previous.text()).match(/"sha256":"[0-9a-f]{64}"/g) : [];
      const text = new TextDecoder().decode(bytes);
      for (const digest of digests ?? []) {
        if (!text.includes(digest)) await cache.delete(this.#key(digest.slice(10, -1)));
      }
      await cache.put(address, new Response(bytes));
    } catch {
      // The storage is full; the model works without it.
    }
  }

  /** @param {string} sha256 */
  #key(sha256) {
    return new URL(`/${CACHE}/${sha256}`, this.#url);
  }

  /**
   * Read and decompress a large file.
   * @param {string} name @param {FileInfo} info @param {(bytes: number) => void} onBytes
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async binary(name, info, onBytes) {
    if (!this.#url || this.#url.protocol === "file:") {
      const bytes = await this.#readLocal(name);
      onBytes(bytes.length);
      return this.#decompress(bytes, name);
    }
    const cache = await this.#cache;
    const key = this.#key(info.sha256);
    const stored = await cache?.match(key).catch(() => undefined);
    if (stored) {
      this.wasCached = true;
      const bytes = new Uint8Array(await stored.arrayBuffer());
      onBytes(bytes.length);
      return this.#decompress(bytes, name);
    }
    const address = new URL(name, this.#url);
    let bytes;
    try {
      const response = await fetch(address);
      if (!response.ok) throw new ModelError(`${address}: the server answers ${response.status}`);
      bytes = await this.#body(response, name, onBytes);
    } catch (error) {
      throw this.#failure(name, error);
    }
    // A server may have decompressed the file already; then it has another digest, and is not stored.
    if (isCompressed(bytes)) {
      await this.#check(bytes, name, info);
      await cache?.put(key, new Response(bytes)).catch(() => undefined);
    }
    return this.#decompress(bytes, name);
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes @param {string} name @param {FileInfo} info */
  async #check(bytes, name, info) {
    if (!globalThis.crypto?.subtle) return; // the page is neither https nor localhost
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (hex !== info.sha256) {
      throw new ModelError(`${this.location}/${name}: damaged or not of this model; export or upload the model again`);
    }
  }

  /**
   * @param {Response} response @param {string} name @param {(bytes: number) => void} [onBytes]
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async #body(response, name, onBytes = () => {}) {
    return response.body ? this.#collect(response.body, name, onBytes) : new Uint8Array(await response.arrayBuffer());
  }

  /**
   * @param {ReadableStream<Uint8Array>} stream @param {string} name @param {(bytes: number) => void} [onBytes]
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async #collect(stream, name, onBytes = () => {}) {
    const chunks = [];
    let size = 0;
    const reader = stream.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      size += value.length;
      onBytes(value.length);
      if (size > this.maxBytes) {
        await reader.cancel();
        throw new ModelError(`${this.location}/${name}: more than ${this.maxBytes} bytes`);
      }
    }
    const bytes = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes @param {string} name */
  async #decompress(bytes, name) {
    if (!isCompressed(bytes)) return bytes;
    try {
      return await this.#collect(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")), name);
    } catch (error) {
      if (error instanceof ModelError) throw error;
      throw new ModelError(`${this.location}/${name}: cannot be decompressed: ${messageOf(error)}`);
    }
  }

  /** @param {string} name @returns {Promise<Uint8Array<ArrayBuffer>>} */
  async #readLocal(name) {
    try {
      const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:fs/promises");
      return new Uint8Array(await readFile(this.#url ? new URL(name, this.#url) : `${this.location}/${name}`));
    } catch (error) {
      throw this.#failure(name, error);
    }
  }

  /** @param {string} name @param {unknown} error */
  #failure(name, error) {
    if (error instanceof ModelError) return error;
    return new ModelError(
      `${this.location}/${name}: cannot be read: ${messageOf(error)}; ` +
        "expected a folder made by discotree export MODEL --web FOLDER",
    );
  }
}

/** @param {Uint8Array} bytes */
function isCompressed(bytes) {
  return bytes[0] === GZIP[0] && bytes[1] === GZIP[1];
}
