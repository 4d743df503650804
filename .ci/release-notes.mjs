// Prints a version's section of a changelog: `release-notes.mjs <version> [file]`. Exits with 1 if there is none.
import { readFileSync } from "node:fs";

const [version = "", file = "CHANGELOG.md"] = process.argv.slice(2);
const sections = readFileSync(file, "utf8").split(/^## /m).slice(1);
const section = sections.find((text) => /^\[?([^\s\]]+)/.exec(text)?.[1] === version);
const notes = section?.slice(section.indexOf("\n") + 1).trim() ?? "";
if (notes === "") {
  process.stderr.write(`${file} says nothing of ${version}; begin a section "## ${version}" there\n`);
  process.exitCode = 1;
} else process.stdout.write(`${notes}\n`);
