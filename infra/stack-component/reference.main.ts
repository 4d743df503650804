import { readFileSync, writeFileSync } from "node:fs";
import { withComponents } from "./components-page.ts";

/** `npm run docs`: prints the components' inputs and outputs on docs/components.md. */
const page = new URL("../../docs/components.md", import.meta.url);
writeFileSync(page, withComponents(readFileSync(page, "utf8")));
