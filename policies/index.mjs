// Pulumi compiles a TypeScript entry with its own old compiler; this entry delegates to Node, which runs TypeScript natively.
import "./pack.ts";
