import { parse, stringify } from "yaml";
import { z } from "zod";
import { stackServices } from "../../stack-services.ts";
import { describeProblem, setKeyTo, type ConfigProblem } from "../../config/config-problem.ts";
import type { StackConfig } from "../../config/config-schema.ts";
import type { BuiltService } from "../built-service.ts";
import { buildPrometheusProject } from "./prometheus-project.ts";
import { filesDirectory, type ServiceSpec } from "../service-spec.ts";
import type { StackContext } from "../stack-context.ts";

/** The official image's own directory for silences and the notification log. */
const directory = "/alertmanager";

const configFile = "alertmanager.yaml";

/** Groups alerts for display, but notifies no one. */
const silentConfig = {
  route: { receiver: "nobody", group_by: ["alertname", "job"] },
  receivers: [{ name: "nobody" }],
};

/** The part common to every Alertmanager configuration; Alertmanager validates the rest. */
const configShape = z.object({
  route: z.object({ receiver: z.string().min(1) }),
  receivers: z.array(z.object({ name: z.string().min(1) })).min(1),
});

/**
 * Builds an Alertmanager that only the stack's Prometheus can reach. It may reach the receivers in its configuration on the internet;
 * without a configuration, it shows alerts but notifies no one.
 */
export function buildAlertmanagerSpec(
  { alertmanagerConfig: config, limits }: StackConfig,
  { secret }: Pick<StackContext, "secret">,
): BuiltService {
  const content = config === undefined ? stringify(silentConfig) : secret(config).value;
  const spec: ServiceSpec = {
    ...buildPrometheusProject("alertmanager"),
    arguments: [
      `--config.file=${filesDirectory}/${configFile}`,
      `--storage.path=${directory}`,
      `--web.listen-address=:${stackServices.alertmanager.ports.http}`,
      // A single process needs no cluster.
      "--cluster.listen-address=",
    ],
    files: [{ name: configFile, content, secret: config !== undefined }],
    volumes: [{ name: "alertmanager-data", path: directory, readOnly: false, retain: false, sizeGibibytes: 1 }],
    edges: config === undefined ? [] : [{ to: "internet" }],
    limits: limits.alertmanager ?? { cpus: 0.5, memoryMebibytes: 256 },
    stopGraceSeconds: 20,
  };
  return { spec, problems: config === undefined ? [] : findConfigProblems(config) };
}

/** Reports obvious problems with an Alertmanager configuration. Messages never quote the configuration, because it contains passwords. */
function findConfigProblems(text: string): readonly ConfigProblem[] {
  const key = "alertmanagerConfig";
  const check = "Check it with `amtool check-config alertmanager.yml`, then ";
  const set = setKeyTo("", key, { secret: true, file: "alertmanager.yml" });
  const problem = (wrong: string) => [describeProblem(key, wrong, check, set, ".")];
  let tree: unknown;
  try {
    tree = parse(text);
  } catch {
    return problem("found invalid YAML.");
  }
  const parsed = configShape.safeParse(tree);
  if (!parsed.success) return problem("found no `route` with a `receiver`, or no `receivers` with a `name` each.");
  const { route, receivers } = parsed.data;
  if (receivers.some(({ name }) => name === route.receiver)) return [];
  return problem("found a `route` to a receiver that is not in `receivers`.");
}
