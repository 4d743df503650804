import { z } from "zod";
import { readText } from "#daemon/bytes.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { describeProblem, setKey, type ConfigProblem } from "../config/config-problem.ts";
import type { ImageName } from "../services/service-spec.ts";
import { findImageKey } from "../services/row-keys.ts";
import { listImages } from "../services/stack-images.ts";

export type RegistryCheck = Readonly<{ fetch: typeof globalThis.fetch }>;

/** Timeout for all requests to one registry; a slower registry is left to the cluster. */
const requestTimeoutMs = 3_000;

/** Media types of registry manifests (OCI image specification; Docker image manifest, version 2, schema 2). */
const manifestTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

const tokenAnswer = z.object({ token: z.string() });
const tokenAnswerBytes = 65_536;

/**
 * Reports images in a stack that certainly don't exist: their registry exposes the repository publicly, and the repository has no such tag
 * or digest (OCI distribution specification, "Pulling manifests" and "Listing tags"). Pods would wait for such an image forever. An image
 * that requires a login, or whose registry is unreachable from here, is left to the cluster, which has its own credentials.
 */
export async function findRegistryProblems(
  config: StackConfig,
  look: RegistryCheck,
): Promise<readonly ConfigProblem[]> {
  const problems = await Promise.all(
    Object.entries(listImages(config)).map(async ([name, reference]): Promise<readonly ConfigProblem[]> => {
      const key = findImageKey(name as ImageName);
      const place = parseReference(reference);
      if (place === undefined || !(await isMissing(place, look))) return [];
      const wrong = `found ${reference}, but ${place.registry} has no ${place.version} in ${place.repository}.`;
      return [describeProblem(key, wrong, "Push it, or correct it", setKey(key), ".")];
    }),
  );
  return problems.flat();
}

type Place = Readonly<{ registry: string; repository: string; version: string }>;

/** Parses an image reference; returns `undefined` if it specifies no registry, in which case the cluster's machines choose one. */
function parseReference(reference: string): Place | undefined {
  const [named = "", digest] = reference.split("@");
  const match = /^(?<registry>[^/]+[.:][^/]*)\/(?<repository>[^:]+)(:(?<tag>[^:/]+))?$/.exec(named);
  const { registry, repository, tag = "latest" } = match?.groups ?? {};
  return registry === undefined || repository === undefined
    ? undefined
    : { registry, repository, version: digest ?? tag };
}

async function isMissing({ registry, repository, version }: Place, { fetch }: RegistryCheck): Promise<boolean> {
  const signal = AbortSignal.timeout(requestTimeoutMs);
  const request = async (path: string, token?: string) => {
    const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const url = `https://${registry}/v2/${repository}/${path}`;
    const answer = await fetch(url, { signal, headers: { Accept: manifestTypes, ...authorization } });
    // An unread response would keep its connection open, and the program running.
    await answer.body?.cancel();
    return answer;
  };
  try {
    const first = await request("tags/list?n=1");
    const token = first.status === 401 ? await requestAnonymousToken(first, signal, { fetch }) : undefined;
    const listed = token === undefined ? first : await request("tags/list?n=1", token);
    if (listed.status !== 200) return false;
    return (await request(`manifests/${version}`, token)).status === 404;
  } catch {
    // Unreachable from here, or not a registry: the cluster may be able to reach it.
    return false;
  }
}

/** Requests an anonymous token from a registry (Docker Registry token authentication); returns `undefined` if the registry issues none. */
async function requestAnonymousToken(
  rejection: Response,
  signal: AbortSignal,
  { fetch }: RegistryCheck,
): Promise<string | undefined> {
  const challenge = rejection.headers.get("www-authenticate") ?? "";
  const field = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1];
  const realm = field("realm");
  if (!challenge.startsWith("Bearer ") || realm?.startsWith("https://") !== true) return undefined;
  const url = new URL(realm);
  for (const name of ["service", "scope"]) {
    const value = field(name);
    if (value !== undefined) url.searchParams.set(name, value);
  }
  const answer = await fetch(url, { signal });
  const body = await readText(answer.body, tokenAnswerBytes);
  return answer.ok ? tokenAnswer.safeParse(JSON.parse(body)).data?.token : undefined;
}
