import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };

/** The oldest major version of Node that Gatehouse runs on, as `engines` in package.json says. */
export const nodeNeeded = Number(packageJson.engines.node.replace(">=", ""));

/** Finds a `node` of this machine that is older than Gatehouse needs, outside of the project's own. */
export function findOldNode(): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((directory) => !directory.includes("node_modules"))
    .map((directory) => join(directory, "node"))
    .filter((path) => existsSync(path))
    .find((path) => Number(/^v(\d+)/.exec(execFileSync(path, ["--version"], { encoding: "utf8" }))?.[1]) < nodeNeeded);
}
