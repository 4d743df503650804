import { basename } from "node:path";
import { z } from "zod";
import { getJson } from "#daemon/http/get.ts";
import { operatorPaths } from "#daemon/stack-services.ts";
import { readiness, status } from "./answers.ts";
import { createFindings } from "./check.ts";
import type { Finding } from "./finding.ts";
import type { StackServices } from "./stack-outputs.ts";

const inUse = z.object({
  service: z.string(),
  version: z.string(),
  settingsSha256: z.string(),
  files: z.array(z.object({ path: z.string(), sha256: z.string(), refused: z.string().optional() })),
});

/** Sidecar conditions that concern node.conf and the connections to the node and the Pushgateway. */
const driftConditions = new Set([
  "ConfigValid",
  "ConfigReconciled",
  "SoleWriter",
  "NotPaused",
  "RpcResponding",
  "MetricsArriving",
]);

const answerBytes = 4_194_304;
const answerMs = 10_000;

type Service = StackServices[string];

/**
 * Finds drift in a stack's running services that no provider's refresh detects: settings or files that differ from the deployed ones, a
 * node.conf that differs from the desired one, and services that can't reach each other. Read-only.
 */
export async function findDrift(services: StackServices): Promise<readonly Finding[]> {
  const found = await Promise.all(Object.entries(services).map(([name, service]) => findServiceDrift(name, service)));
  return found.flat();
}

async function findServiceDrift(name: string, service: Service): Promise<readonly Finding[]> {
  const { url } = service;
  const look = (state: Finding["state"], message: string) => createFindings("drift")(name, state, message);
  if (url === undefined) return [look("skipped", `no address of it is known here; name one by --url ${name}=…`)];
  const [configuration, checks] = [
    await requestAnswer(url, operatorPaths.configuration, inUse),
    await requestAnswer(url, operatorPaths.ready, readiness),
  ];
  if ("failure" in configuration) return [look("unknown", configuration.failure)];
  const { version, settingsSha256, files } = configuration.answer;
  const conditions = name === "sidecar" ? await requestAnswer(url, "/status", status) : undefined;
  return [
    settingsSha256 === service.settingsSha256
      ? look("right", `runs version ${version} with the settings that the stack gave it`)
      : look("wrong", "runs with other settings than the stack gave it; `pulumi up --refresh` puts that right"),
    ...Object.entries(service.files).map(([file, sha256]) => look(...judgeFile(file, sha256, files))),
    ...("failure" in checks
      ? [look("unknown", checks.failure)]
      : listFailedChecks(checks.answer).map((text) => look("wrong", text))),
    ...(conditions === undefined ? [] : judgeConditions(conditions).map((one) => look(...one))),
  ];
}

function judgeFile(
  file: string,
  sha256: string,
  files: z.output<typeof inUse>["files"],
): readonly [Finding["state"], string] {
  const found = files.find(({ path }) => basename(path) === file);
  if (found === undefined)
    return ["wrong", `does not read ${file}, which the stack gave it; \`pulumi up --refresh\` puts that right`];
  if (found.refused !== undefined)
    return ["wrong", `${found.path} can't be used (${found.refused}); what stood there before is in force`];
  if (found.sha256 !== sha256) {
    return [
      "wrong",
      `${found.path} is not what the stack gave it; after a change on Kubernetes wait two minutes, else \`pulumi up --refresh --replace\` its file delivery (the container …-files or …-live) or Secret`,
    ];
  }
  return ["right", `${found.path} is what the stack gave it`];
}

function listFailedChecks({ checks }: z.output<typeof readiness>): readonly string[] {
  return Object.entries(checks)
    .filter(([, { ok }]) => !ok)
    .map(([check, { message }]) => `is not ready: ${check}: ${message}`);
}

type Answered<Answer> = Readonly<{ answer: Answer }> | Readonly<{ failure: string }>;

function judgeConditions(
  answered: Answered<z.output<typeof status>>,
): readonly (readonly [Finding["state"], string])[] {
  if ("failure" in answered) return [["unknown", answered.failure]];
  const failing = answered.answer.conditions.filter((one) => driftConditions.has(one.type) && one.status === "False");
  if (failing.length === 0) return [["right", "finds node.conf as desired"]];
  return failing.map(({ type, message }) => ["wrong", `${type}: ${message}`] as const);
}

/** Requests a path of a service. A service that isn't ready responds with 503 and the reason. */
async function requestAnswer<Answer>(
  origin: string,
  path: string,
  schema: z.ZodType<Answer>,
): Promise<Answered<Answer>> {
  const url = new URL(path, origin).href;
  const got = await getJson(url, { timeoutMs: answerMs, answerBytesMax: answerBytes });
  if (!got.ok)
    return { failure: `${url} can't be queried (${got.why}); does it run, and can it be reached from here?` };
  const parsed = schema.safeParse(got.body);
  if (parsed.success) return { answer: parsed.data };
  return {
    failure: `${url} answers ${got.status}, and not what a service of this version does; is the address right?`,
  };
}
