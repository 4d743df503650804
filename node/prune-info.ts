import { stripVTControlCharacters } from "node:util";

/** Output of `node_cli prune --get` (specification, "PruneInfo output"); only the pruning state is guaranteed. */
export type PruneInfo = Readonly<{
  autoPrune: boolean;
  reservedWindow: bigint | undefined;
  pruneReservedVersion: bigint | undefined;
  flushedVersion: bigint | undefined;
  realPruneReservedVersion: bigint | undefined;
}>;

const versionFields = [
  "auto_prune_reserved_window",
  "prune_reserved_version",
  "flushed_version",
  "real_prune_reserved_version",
] as const;

export type PruneInfoResult = Readonly<{ ok: true; info: PruneInfo } | { ok: false; message: string }>;

const onWords = new Set(["1", "true", "enabled", "on", "yes"]);
const offWords = new Set(["0", "false", "disabled", "off", "no"]);

const blank = "[^\\S\\r\\n]*";
const bar = "[|│┃║¦]";
const valueOf = `(0x[0-9a-f]+|\\d+|true|false)\\b|(enabled|disabled|on|off|yes|no)(?=${blank}(?:["'.,;)}\\]]|${bar}|$))`;
/** A second value after the first, as in `0.5`, `0/1`, `0 or 1` or a table row with an extra column. Which one counts is unspecified. */
const another = `${blank}(?:[-=.,/|│┃║¦>→]+|or|to)${blank}["']?(?:\\d|true|false|enabled|disabled|on\\b|off\\b|yes\\b|no\\b)`;
const separator = `(?:${blank}(?:[:=]+>?|-+>|→|${bar}|is\\b|\\.{2,}:?)${blank}|[^\\S\\r\\n]+)`;
const pair = new RegExp(`(?<![\\w-])["']?([a-z_]+)["']?${separator}["']?(?:${valueOf})(?!${another})`, "gim");

/**
 * Parses PruneInfo from lines, a table or JSON, with a separator or blanks between a name and its value. Ignores anything else (log lines,
 * headings, colours). `enable_auto_prune` alone is enough, but must be unambiguously on or off: pruning can't be switched off again, so
 * nothing is guessed.
 */
export function parsePruneInfo(output: string): PruneInfoResult {
  const found = new Map<string, string>();
  const switches = new Set<boolean | undefined>();
  for (const [, name = "", value, word] of stripVTControlCharacters(output).matchAll(pair)) {
    const text = (value ?? word ?? "").toLowerCase();
    found.set(name.toLowerCase(), text);
    if (name.toLowerCase() === "enable_auto_prune") switches.add(parseSwitch(text));
  }
  const shown = JSON.stringify(output.slice(0, 200));
  if (switches.has(true) && switches.has(false))
    return { ok: false, message: `printed enable_auto_prune as 0 and as 1; found ${shown}.` };
  const [autoPrune, ...others] = switches;
  if (autoPrune === undefined || others.length > 0)
    return { ok: false, message: `printed no enable_auto_prune of 0 or 1; found ${shown}.` };
  const [reservedWindow, pruneReservedVersion, flushedVersion, realPruneReservedVersion] = versionFields.map((name) =>
    parseVersion(found.get(name)),
  );
  return {
    ok: true,
    info: { autoPrune, reservedWindow, pruneReservedVersion, flushedVersion, realPruneReservedVersion },
  };
}

function parseSwitch(text: string): boolean | undefined {
  return onWords.has(text) ? true : offWords.has(text) ? false : undefined;
}

function parseVersion(text: string | undefined): bigint | undefined {
  return text === undefined || !/^\d/.test(text) ? undefined : BigInt(text);
}
