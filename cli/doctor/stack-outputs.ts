import { z } from "zod";
import { explainUnreadable, readNamedText } from "#daemon/files/regular-file.ts";
import { parseJson } from "#daemon/json-rpc.ts";

/** Max bytes of stack outputs to read; no stack has that many. */
const outputsBytes = 4_194_304;

const expected = z.object({ settingsSha256: z.string(), files: z.record(z.string(), z.string()) });

const outputsSchema = z.object({
  configuration: z.record(z.string(), expected),
  urls: z.object({ operations: z.object({ status: z.url(), resourceServerMetrics: z.url() }) }),
});

/** Configuration deployed to a service: digests of its settings and of each hot-reloaded file, by file name. */
export type ExpectedConfiguration = Readonly<z.output<typeof expected>>;

export type StackServices = Readonly<Record<string, ExpectedConfiguration & Readonly<{ url: string | undefined }>>>;

/** Reads `pulumi stack output --json` from a path, or from standard input (`-`). The given `urls` override the stack's. */
export function readStackOutputs(path: string, urls: Readonly<Record<string, string>>): StackServices {
  const source = path === "-" ? "standard input" : path;
  const document = parseJson(readOutputs(path, source));
  if (document === undefined) {
    throw new Error(`${source}: not JSON; expected the output of "pulumi stack output --json".`);
  }
  const parsed = outputsSchema.safeParse(document);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(
      `${source}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}; expected the output of "pulumi stack output --json" after a "pulumi up" of this version.`,
    );
  }
  const { configuration, urls: listedUrls } = parsed.data;
  const known: Readonly<Record<string, string>> = {
    sidecar: new URL(listedUrls.operations.status).origin,
    "resource-server": new URL(listedUrls.operations.resourceServerMetrics).origin,
    ...urls,
  };
  const unknownName = Object.keys(urls).find((name) => configuration[name] === undefined);
  if (unknownName !== undefined) {
    throw new Error(`--url ${unknownName}: unknown service; the stack has ${Object.keys(configuration).join(", ")}.`);
  }
  return Object.fromEntries(
    Object.entries(configuration).map(([name, given]) => [name, { ...given, url: known[name] }]),
  );
}

function readOutputs(path: string, source: string): string {
  try {
    return readNamedText(path === "-" ? 0 : path, outputsBytes);
  } catch (cause) {
    throw new Error(`${source} can't be read (${explainUnreadable(cause)}); check --outputs.`, { cause });
  }
}
