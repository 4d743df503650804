import { basename } from "node:path";
import type { Logger } from "#daemon/log/log.ts";
import type { NodeLayout } from "./layout.ts";

/** The specification's names for a node's parts, when they appear in a message, but not in a path, a longer word or a setting. */
const specified = /(?<![\w./-])(?:node\.conf|node_cli)(?![\w/-]|\.\w)/g;

/** In a displayed value's strings, replaces the specification's names with those of the node's own configuration file and tool. */
export function withNodeNames<Value extends object>(
  value: Value,
  { family, configPath }: Pick<NodeLayout, "family" | "configPath">,
): Value {
  const own: Readonly<Record<string, string>> = { "node.conf": basename(configPath), node_cli: family.programs.tool };
  if (Object.entries(own).every(([name, itself]) => name === itself)) return value;
  const rename = (_: string, each: unknown) =>
    typeof each === "string" ? each.replaceAll(specified, (name) => own[name] ?? name) : each;
  return JSON.parse(JSON.stringify(value), rename) as Value;
}

/** Makes log messages use the node's own file names. Paths and other fields remain unchanged. */
export function withNodeNamesInLog(log: Logger, layout: () => Pick<NodeLayout, "family" | "configPath">): Logger {
  const rename = (part: unknown) => (typeof part === "string" ? withNodeNames({ part }, layout()).part : part);
  return new Proxy(log, {
    get: (target, key: keyof Logger) => {
      const write: unknown = target[key];
      return typeof write === "function"
        ? (...line: unknown[]) => Reflect.apply(write, target, line.map(rename))
        : write;
    },
  });
}
