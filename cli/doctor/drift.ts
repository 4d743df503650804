import { basename } from "node:path";
import { z } from "zod";
import { getJson } from "#daemon/http/get.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
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
const driftConditions = new Set(["ConfigReconciled", "NotPaused", "RpcResponding", "MetricsArriving"]);

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
  const createFinding = (state: Finding["state"], message: string) => createFindings("drift")(name, state, message);
  if (url === undefined)
    return [createFinding("skipped", `its address is unknown here; specify it with --url ${name}=…`)];
  const [configuration, checks] = [
    await requestAnswer(url, operatorPaths.configuration, inUse),
    await requestAnswer(url, operatorPaths.ready, readiness),
  ];
  if ("failure" in configuration) return [createFinding("unknown", configuration.failure)];
  const { version, settingsSha256, files } = configuration.answer;
  const conditions = name === "sidecar" ? await requestAnswer(url, "/status", status) : undefined;
  return [
    settingsSha256 === service.settingsSha256
      ? createFinding("right", `runs version ${version} with the stack's settings`)
      : createFinding("wrong", "its settings differ from the stack's; fix with `pulumi up --refresh`"),
    ...Object.entries(service.files).map(([file, sha256]) => createFinding(...judgeFile(file, sha256, files))),
    ...("failure" in checks
      ? [createFinding("unknown", checks.failure)]
      : listFailedChecks(checks.answer).map((text) => createFinding("wrong", text))),
    ...(conditions === undefined ? [] : judgeConditions(conditions).map((one) => createFinding(...one))),
  ];
}

function judgeFile(
  file: string,
  sha256: string,
  files: z.output<typeof inUse>["files"],
): readonly [Finding["state"], string] {
  const found = files.find(({ path }) => basename(path) === file);
  if (found === undefined) return ["wrong", `does not use the stack's file ${file}; fix with \`pulumi up --refresh\``];
  if (found.refused !== undefined)
    return ["wrong", `${found.path} is invalid (${found.refused}); its previous content stays active`];
  if (found.sha256 !== sha256) {
    return [
      "wrong",
      `${found.path} differs from the stack's; after a change on Kubernetes, wait two minutes, otherwise \`pulumi up --refresh --replace\` its file delivery (the container …-files or …-live) or Secret`,
    ];
  }
  return ["right", `${found.path} matches the stack's`];
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
  const failing = answered.answer.conditions.filter(
    (one) => driftConditions.has(one.type) && one.status === "False" && one.reason !== "WaitingForApproval",
  );
  if (failing.length === 0) return [["right", "node.conf matches the desired configuration"]];
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
    return { failure: `${url} can't be queried (${got.why}); check that it is running and reachable from here` };
  const parsed = schema.safeParse(got.body);
  if (parsed.success) return { answer: parsed.data };
  return {
    failure: `${url} returned HTTP ${got.status}, but not like a service of this version; check the address`,
  };
}
