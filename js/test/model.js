// The model that the tests use: nl, exported by the Python package of this repository, once for each run of the tests.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Return a folder with the model, and a function that removes it. The environment variable PYTHON names another Python. */
export function exportModel() {
  const local = join(ROOT, ".venv", "bin", "python");
  const python = process.env.PYTHON ?? (existsSync(local) ? local : "python3");
  const folder = mkdtempSync(join(tmpdir(), "discotree-"));
  execFileSync(python, ["-m", "discotree", "export", "nl", "--web", join(folder, "nl")], {
    env: { ...process.env, PYTHONPATH: join(ROOT, "src") },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return { folder: join(folder, "nl"), remove: () => rmSync(folder, { recursive: true }) };
}
