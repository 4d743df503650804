import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };

export const nodeNeeded = Number(packageJson.engines.node.replace(">=", ""));

export function findOldNode(): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((directory) => !directory.includes("node_modules"))
    .map((directory) => join(directory, "node"))
    .filter((path) => existsSync(path))
    .find((path) => Number(/^v(\d+)/.exec(execFileSync(path, ["--version"], { encoding: "utf8" }))?.[1]) < nodeNeeded);
}
