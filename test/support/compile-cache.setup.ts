import { enableCompileCache } from "node:module";
import { join } from "node:path";

// Each file of tests has its own process, or shares one, and most load the same packages: they are compiled once, not in each. What a test starts
// has the cache of its own environment.
enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/tests"));
