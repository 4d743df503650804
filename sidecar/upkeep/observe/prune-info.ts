/** What `node_cli prune --get` prints (specification, "PruneInfo output"). Version numbers may exceed 2^53. */
export type PruneInfo = Readonly<{
  autoPrune: boolean;
  reservedWindow: bigint;
  pruneReservedVersion: bigint;
  flushedVersion: bigint;
  realPruneReservedVersion: bigint;
}>;

const fields = {
  enable_auto_prune: "autoPrune",
  auto_prune_reserved_window: "reservedWindow",
  prune_reserved_version: "pruneReservedVersion",
  flushed_version: "flushedVersion",
  real_prune_reserved_version: "realPruneReservedVersion",
} as const;

type FieldName = keyof typeof fields;

/** A PruneInfo, or what is missing. */
export type PruneInfoResult = Readonly<{ ok: true; info: PruneInfo } | { ok: false; message: string }>;

/**
 * Reads PruneInfo from lines with `:` or `=`, or from JSON; lines that are none of the five fields (log lines, headings) do not
 * matter.
 */
export function parsePruneInfo(output: string): PruneInfoResult {
  const found = new Map<FieldName, bigint>();
  const pattern = /(?<![\w-])["']?([a-z_]+)["']?\s*[:=]\s*["']?(0x[0-9a-f]+|\d+|true|false)\b/gi;
  for (const [, name = "", value = ""] of output.matchAll(pattern)) {
    const key = name.toLowerCase();
    if (isField(key)) found.set(key, numberOf(value.toLowerCase()));
  }
  const missing = (Object.keys(fields) as FieldName[]).filter((name) => !found.has(name));
  if (missing.length > 0) {
    const shown = JSON.stringify(output.slice(0, 200));
    return {
      ok: false,
      message: `printed no ${missing.join(", ")}; expected the five fields of PruneInfo, found ${shown}.`,
    };
  }
  const value = (name: FieldName) => found.get(name) ?? 0n;
  return {
    ok: true,
    info: {
      autoPrune: value("enable_auto_prune") === 1n,
      reservedWindow: value("auto_prune_reserved_window"),
      pruneReservedVersion: value("prune_reserved_version"),
      flushedVersion: value("flushed_version"),
      realPruneReservedVersion: value("real_prune_reserved_version"),
    },
  };
}

function isField(name: string): name is FieldName {
  return Object.hasOwn(fields, name);
}

function numberOf(text: string): bigint {
  if (text === "true") return 1n;
  return text === "false" ? 0n : BigInt(text);
}
