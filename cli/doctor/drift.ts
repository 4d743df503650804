import { basename } from "node:path";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { requestReport, type ServiceReport } from "./inspect-service.ts";
import type { Finding, Judgement } from "./finding.ts";
import type { StackServices } from "./stack-outputs.ts";

/** Sidecar conditions that concern node.conf and the connections to the node and the Pushgateway. */
const driftConditions = new Set(["ConfigReconciled", "NotPaused", "RpcResponding", "MetricsArriving"]);

/** Finds drift that no provider's refresh detects: settings, files and node.conf other than desired, and broken connections. */
export async function findDrift(services: StackServices): Promise<readonly Finding[]> {
  const found = Object.entries(services).map(async ([subject, service]) => {
    const judgements = await Array.fromAsync(judgeService(subject, service));
    return judgements.map(([state, message]) => ({ check: "drift", subject, state, message }));
  });
  return (await Promise.all(found)).flat();
}

async function* judgeService(name: string, deployed: StackServices[string]): AsyncGenerator<Judgement> {
  const { url } = deployed;
  if (url === undefined) return yield ["skipped", `its address is unknown here; specify it with --url ${name}=…`];
  const report = await requestReport(url, name === "sidecar");
  const { configuration, readiness, status } = report;
  if (configuration?.settingsSha256 === undefined) return yield explain(report, "configuration.json", url);
  yield configuration.settingsSha256 === deployed.settingsSha256
    ? ["ok", `runs version ${configuration.version} with the stack's settings`]
    : ["failed", "its settings differ from the stack's; fix with `pulumi up --refresh`"];
  for (const [file, sha256] of Object.entries(deployed.files)) yield judgeFile(file, sha256, configuration.files);
  if (readiness === undefined) yield explain(report, "readyz.json", url);
  for (const [check, { ok, message }] of Object.entries(readiness?.checks ?? {})) {
    if (!ok) yield ["failed", `is not ready: ${check}: ${message}`];
  }
  if (name !== "sidecar") return;
  if (status === undefined) return yield explain(report, "status.json", url);
  const failingConditions = status.conditions.filter(
    (one) => driftConditions.has(one.type) && one.status === "False" && one.reason !== "WaitingForApproval",
  );
  if (failingConditions.length === 0) yield ["ok", "node.conf matches the desired configuration"];
  for (const { type, message } of failingConditions) yield ["failed", `${type}: ${message}`];
}

type Files = NonNullable<ServiceReport["configuration"]>["files"];

function judgeFile(file: string, sha256: string, files: Files): Judgement {
  const found = files.find(({ path }) => basename(path) === file);
  if (found === undefined) return ["failed", `does not use the stack's file ${file}; fix with \`pulumi up --refresh\``];
  const { path, rejected } = found;
  if (rejected !== undefined) return ["failed", `${path} is invalid (${rejected}); its previous content stays active`];
  if (found.sha256 === sha256) return ["ok", `${path} matches the stack's`];
  const fix =
    "after a change on Kubernetes, wait two minutes, otherwise `pulumi up --refresh --replace` its file delivery (the container …-files or …-live) or Secret";
  return ["failed", `${path} differs from the stack's; ${fix}`];
}

const paths = {
  "configuration.json": operatorPaths.configuration,
  "readyz.json": operatorPaths.ready,
  "status.json": "/status",
};

function explain({ responses: answers }: ServiceReport, name: keyof typeof paths, origin: string): Judgement {
  const got = answers[name];
  const url = new URL(paths[name], origin).href;
  if (got?.ok === true) {
    return [
      "unknown",
      `${url} returned HTTP ${got.status}, but doesn't look like a service of this version; check the address`,
    ];
  }
  return ["unknown", `${url} can't be queried (${got?.why}); check that it is running and reachable from here`];
}
