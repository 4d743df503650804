import { enableCompileCache } from "node:module";

/**
 * Loaded before all else (`nodeargs` in Pulumi.yaml), because half of a program's time is the compilation of Pulumi's SDK and of
 * what it brings: from the second run on, Node takes that from a cache in the temporary directory (Node's documentation, "Module
 * compile cache").
 */
enableCompileCache();
