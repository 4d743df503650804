import { enableCompileCache } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Each test file has its own process, or shares one, and most load the same packages: a shared cache compiles them
// once. Processes started by a test use the cache of their own environment.
enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/tests"));

// Only the same test's commands find its announced services.
process.env["XDG_RUNTIME_DIR"] = join(tmpdir(), `gatehouse-run-${process.pid}`);
process.env["XDG_STATE_HOME"] = join(tmpdir(), `gatehouse-state-${process.pid}`);
