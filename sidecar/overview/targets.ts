import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";

/** A service to poll: the operator listener of a sidecar, gateway, facilitator or resource server. */
export type Target = Readonly<{
  name: string;
  /** URL to query; not shown, because it may contain credentials. */
  url: string;
  /** URL to show: without credentials, ends in `/`. */
  shownUrl: string;
}>;

const targetsMax = 64;

export class TargetError extends Error {
  override readonly name = "TargetError";
  readonly code = "invalid_target";
}

const form = /^(?:(?<name>[^=\s]{1,64})=)?(?<url>https?:\/\/\S+)$/;

export function isTarget(word: string): boolean {
  return form.test(word);
}

export function listTargetLines(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
    .filter((line) => line !== "");
}

/** @throws {TargetError} for any form but `http://host:port` and `name=http://host:port`, an empty or too long list, or a duplicate name. */
export function parseTargets(lines: readonly string[]): readonly Target[] {
  if (lines.length === 0) throw new TargetError("no targets given; pass URLs, or a file with one URL per line.");
  if (lines.length > targetsMax) {
    throw new TargetError(`${lines.length} targets given; the limit is ${targetsMax}.`);
  }
  const targets = lines.map(parseTarget);
  const names = new Set<string>();
  for (const { name } of targets) {
    if (names.has(name))
      throw new TargetError(`two targets are named ${name}; give each its own name, e.g. node-7=http://10.0.0.7:9600.`);
    names.add(name);
  }
  return targets;
}

function parseTarget(line: string): Target {
  const { name, url = "" } = form.exec(line)?.groups ?? {};
  const parsed = URL.parse(url);
  // Even an invalid URL may contain a password.
  if (parsed === null) throw new TargetError("invalid target; expected http://host:port or name=http://host:port.");
  parseHttpEndpoint(url);
  if (parsed.pathname !== "/" || parsed.search !== "" || parsed.hash !== "") {
    throw new TargetError(
      `the target at ${parsed.host} has a path or a query; expected only the admin port, http://host:port: Gatehouse adds /status and /readyz.`,
    );
  }
  return { name: name ?? parsed.host, url, shownUrl: `${parsed.origin}/` };
}
