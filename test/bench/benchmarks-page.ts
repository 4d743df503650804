import { writeFile } from "node:fs/promises";
import { escapeCell, formatTable, wrapLines } from "#daemon/markdown.ts";
import { readResults, type Results } from "./results.ts";

const pageFile = new URL("../../docs/benchmarks.md", import.meta.url);

const introduction = `# Benchmarks

Printed by \`npm run docs\` from \`test/bench/results.json\`, which the commands below write with \`--save\`; do not edit. It has the last saved run of each part, missed targets
first. Ratios compare both sides in one run, alternating, and are the medians of its rounds.
`;

const commands: readonly (readonly string[])[] = [
  [
    "`npm run bench:gateway`",
    "the gateway against nginx and HAProxy before the same native responder, and against bare anvil",
    "nginx, HAProxy, wrk, cc, taskset",
  ],
  [
    "`npm run bench:payments`",
    "the facilitator against the published reference, and x402-rs, on one anvil",
    "x402-facilitator for its part",
  ],
  ["`npm run bench:worst-message`", "a search for the accepted message that keeps the gateway's thread longest", ""],
];

const options = `
\`--save\` writes the results into this page, with \`--note\` on what else the machine did. \`--only\` selects parts of the gateway's (\`clients\`, \`proxies\`, \`small\`, \`large\`, \`anvil\`, \`batch\`, \`stream\`, \`node\`,
\`websocket\`). \`--rounds\` and \`--seconds\` set how often and how long the gateway's are
measured; many short rounds suit a shared machine.

The part \`clients\` sends recorded requests of real clients (\`test/bench/gateway/client-shapes.json\`), each with its own id and address. The responder returns
130 B, 2 KB, or 40 B to 64 KB by the request's hash, with a length as reth and anvil do or in chunks as geth does, and has a block every other second.
`;

export function printBenchmarks(results: Results): string {
  const runs = Object.entries(results);
  const rows = runs.flatMap(([part, run]) => run.measurements.map((measurement) => ({ part, ...measurement })));
  const met = rows.filter(({ isMet }) => isMet);
  const missed = rows.filter(({ isMet }) => !isMet);
  const explained = rows.flatMap(({ what, how }) => (how === undefined ? [] : [[what, how]]));
  return [
    introduction,
    `## Targets\n\n${met.length} of ${rows.length} are met.\n`,
    ...formatTargets("Missed", missed),
    ...formatTargets("Met", met),
    "## Runs\n",
    ...[...Map.groupBy(runs, ([, { machine }]) => machine)].flatMap(([machine, some]) => [
      `On ${escapeCell(machine)}:`,
      "",
      ...some.map(([part, { date, conditions }]) => `- ${part}, ${date}: ${escapeCell(conditions)}`),
      "",
    ]),
    ...(explained.length === 0 ? [] : [...formatPlainTable(["what", "how it was measured"], explained), ""]),
    "## Measure it yourself\n",
    ...formatPlainTable(["command", "what it measures", "needs on PATH"], commands),
    options,
  ].join("\n");
}

type Row = Readonly<{ part: string; what: string; measured: string; target: string }>;

function formatTargets(verdict: string, rows: readonly Row[]): readonly string[] {
  return [...Map.groupBy(rows, ({ part }) => part)].flatMap(([part, some]) => [
    `### ${verdict}: ${part}`,
    "",
    ...[...Map.groupBy(some, ({ what, target }) => `${splitMeasure(what).measure} (target ${target})`)].flatMap(
      ([measure, cases]) => wrapLines(escapeCell(formatMeasure(measure, cases))),
    ),
    "",
  ]);
}

function formatMeasure(measure: string, rows: readonly Row[]): string {
  const [first, ...others] = rows;
  if (first !== undefined && others.length === 0) return `- ${first.what}: ${first.measured} (target ${first.target})`;
  return `- ${measure}: ${rows.map(({ what, measured }) => `${measured} ${splitMeasure(what).name}`).join("; ")}`;
}

function splitMeasure(what: string): Readonly<{ name: string; measure: string }> {
  const at = what.lastIndexOf(": ");
  return at < 0 ? { name: what, measure: what } : { name: what.slice(0, at), measure: what.slice(at + 2) };
}

export async function writeBenchmarksPage(): Promise<void> {
  await writeFile(pageFile, printBenchmarks(await readResults()));
}

function formatPlainTable(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return formatTable(
    head,
    rows.map((cells) => cells.map(escapeCell)),
  );
}
