// Pulumi compiles a TypeScript entry with an old compiler of its own; this one hands over to Node, which runs TypeScript as it is.
import "./pack.ts";
