import { enableCompileCache } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Each file of tests has its own process, or shares one, and most load the same packages: they are compiled once, not in each. What a test starts
// has the cache of its own environment.
enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/tests"));

// What a test's services announce of themselves is found by the commands of that test alone.
process.env["XDG_RUNTIME_DIR"] = join(tmpdir(), `gatehouse-run-${process.pid}`);
