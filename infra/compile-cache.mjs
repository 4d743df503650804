import { enableCompileCache } from "node:module";

/**
 * Loaded first (`nodeargs` in Pulumi.yaml): compiling Pulumi's SDK and its dependencies takes half of a program's run time. From the second
 * run on, Node reads the compiled code from a cache in the temporary directory (Node's documentation, "Module compile cache").
 */
enableCompileCache();
