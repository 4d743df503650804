// `npm run size` prints the project's size; with `-- --files`, also which files are run and loaded.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { watchOutput } from "#daemon/command-line/lost-output.ts";
import { createProgram } from "../../cli/program.ts";
import { metricCatalogue } from "../observability/metric-catalogue.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import { alerts } from "../observability/committed-rules.ts";
import { allSettings, usualSettings } from "../support/all-settings.ts";
import { listFilesOfCall, listFilesOfHelp, listFilesOfPayment, listFilesOfSidecar } from "./passed-files.ts";

process.once("exit", watchOutput(process.stdout));

const root = join(import.meta.dirname, "../..");
const paths = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root })
  .toString()
  .split("\0")
  .filter((path) => path !== "");

const isTest = (path: string) => /^test\/|\/testing\/|\.test\.[jt]s$/.test(path);
const code = paths.filter((path) => /\.(ts|js|mjs|cjs)$/.test(path));
const source = code.filter((path) => !isTest(path));
const pages = paths.filter((path) => path.endsWith(".md"));
const isPrinted = (path: string) => /do not edit/.test(read(path).slice(0, 1_000));
/** Pages with generated content, from `npm run docs` and the measurements. */
const printedPart = /<!-- ([\w -]+): printed [^]*?<!-- \/\1 -->/g;

const program = createProgram({ mask: { text: (text) => text, hide: () => undefined } });
const figures = {
  "source, files": source.length,
  "source, lines": countAll(source, countLines),
  "tests and helpers, lines": countAll(code.filter(isTest), countLines),
  "Markdown, words": countAll(pages, countWords),
  "Markdown by hand, words": countAll(
    pages.filter((path) => !isPrinted(path)),
    (text) => countWords(text.replaceAll(printedPart, "")),
  ),
  settings: allSettings.length,
  "settings, usual": usualSettings.length,
  commands: program.createHelp().visibleCommands(program).length,
  conditions: Object.keys(conditionReasons).length,
  reasons: Object.values(conditionReasons).flatMap((byStatus) => Object.values(byStatus).flat()).length,
  metrics: Object.keys(metricCatalogue).length,
  // The watchdog does not count.
  alerts: alerts.size - 1,
};
print(figures);
const isVerbose = process.argv.includes("--files");
const [sidecar, help] = [await listFilesOfSidecar(), await listFilesOfHelp()];
const [call, payment] = [await listFilesOfCall(), await listFilesOfPayment()];
print({
  "files run by one eth_call": call.length,
  "files run by one payment": payment.length,
  "files loaded by a sidecar": `${sidecar.own.length} and ${sidecar.packages} of packages`,
  "files loaded by --help": `${help.own.length} and ${help.packages} of packages`,
});
if (isVerbose) {
  for (const files of [call, payment, sidecar.own, help.own]) process.stdout.write(`\n${files.join("\n")}\n`);
}

function print(rows: Readonly<Record<string, number | string>>): void {
  for (const [name, value] of Object.entries(rows)) process.stdout.write(`${name.padEnd(26)}${value}\n`);
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function countAll(some: readonly string[], count: (text: string) => number): number {
  return some.reduce((sum, path) => sum + count(read(path)), 0);
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}
