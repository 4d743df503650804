import { enableCompileCache } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Test files have their own or shared processes, most of which load the same packages; a shared cache compiles these once. Processes
// started by a test use the cache of their own environment.
enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/tests"));

// Services announced by a test are found only by its own commands.
process.env["XDG_RUNTIME_DIR"] = join(tmpdir(), `gatehouse-run-${process.pid}`);
process.env["XDG_STATE_HOME"] = join(tmpdir(), `gatehouse-state-${process.pid}`);
