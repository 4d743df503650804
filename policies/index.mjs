// Pulumi compiles a TypeScript entry with its own old compiler; this one hands over to Node, which runs TypeScript as it is.
import "./pack.ts";
