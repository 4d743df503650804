import { readFileSync, writeFileSync } from "node:fs";
import { withComponents } from "./components-page.ts";

/** `npm run docs`: generates the components' inputs and outputs in docs/components.md. */
const page = new URL("../../docs/components.md", import.meta.url);
writeFileSync(page, withComponents(readFileSync(page, "utf8")));
