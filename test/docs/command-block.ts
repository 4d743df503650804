/** A page's `sh` block, as typed by a reader, with the page's comments about it. */
export type CommandBlock = Readonly<{
  page: string;
  /** Line of its first fence, from 1. */
  line: number;
  command: string;
  /** The `text` block after it; empty if there is none, which means that nothing is printed. */
  output: string;
  /** From `<!-- exit status: n -->` before it; 0 without it. */
  status: number;
  /** From `<!-- runs on -->` before it: the command runs a service, which the reader keeps running. */
  runsOn: boolean;
  /** From `<!-- not run: reason -->` before it. */
  notRun: string | undefined;
  /** From `<!-- run by: file -->` before it: the test or script that runs the block. */
  runBy: string | undefined;
}>;

const fence = /^( *)```(\w*)$/;
const comment = /^ *<!-- (not run|run by|exit status|runs on)(?:: (.+))? -->$/;

type FencedBlock = Readonly<{ language: string; text: string; end: number }>;

function findFenced(lines: readonly string[], start: number): FencedBlock | undefined {
  const [opening, indent = "", language = ""] = fence.exec(lines[start] ?? "") ?? [];
  if (opening === undefined) return undefined;
  const length = lines.slice(start + 1).indexOf(`${indent}\`\`\``);
  if (length < 0) return undefined;
  const insideLines = lines.slice(start + 1, start + 1 + length).map((line) => line.slice(indent.length));
  return { language, text: insideLines.join("\n"), end: start + 1 + length };
}

function findNeighbour(lines: readonly string[], from: number, step: -1 | 1): number {
  let at = from + step;
  while (lines[at]?.trim() === "") at += step;
  return at;
}

function readCommentsBefore(lines: readonly string[], start: number): ReadonlyMap<string, string> {
  const said = new Map<string, string>();
  let at = findNeighbour(lines, start, -1);
  for (;;) {
    const [found, name = "", value = ""] = comment.exec(lines[at] ?? "") ?? [];
    if (found === undefined) return said;
    said.set(name, value);
    at = findNeighbour(lines, at, -1);
  }
}

export function parseCommandBlocks(page: string, markdown: string): readonly CommandBlock[] {
  const lines = markdown.split("\n");
  const blocks: CommandBlock[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const fenced = findFenced(lines, at);
    if (fenced === undefined) continue;
    if (fenced.language === "sh") {
      const after = findFenced(lines, findNeighbour(lines, fenced.end, 1));
      const said = readCommentsBefore(lines, at);
      blocks.push({
        page,
        line: at + 1,
        command: fenced.text,
        output: after?.language === "text" ? after.text : "",
        runsOn: said.has("runs on"),
        status: Number(said.get("exit status") ?? 0),
        notRun: said.get("not run"),
        runBy: said.get("run by"),
      });
    }
    at = fenced.end;
  }
  return blocks;
}

/** Whether the guides' own test runs it. */
export function isTyped({ notRun, runBy }: Pick<CommandBlock, "notRun" | "runBy">): boolean {
  return notRun === undefined && runBy === undefined;
}
