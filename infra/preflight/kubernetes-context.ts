import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { describeInvalid, type ConfigProblem } from "../config/config-problem.ts";

export type KubernetesHome = Readonly<{
  /** The `KUBECONFIG` variable: a list of files, separated as in `PATH`. */
  kubeconfig: string | undefined;
  home: string;
  /** Whether the program runs in a pod, whose own account is used if there is no kubeconfig. */
  inCluster: boolean;
}>;

const kubeconfigSchema = z.object({
  "current-context": z.string().nullish(),
  contexts: z.array(z.object({ name: z.string() })).nullish(),
});

const key = "kubernetesContext";

/** Lists problems with the stack's configured cluster, or with the current cluster if none is configured. */
export function findContextProblems(context: string | undefined, home: KubernetesHome): readonly ConfigProblem[] {
  const paths = (home.kubeconfig ?? "").split(delimiter).filter((path) => path !== "");
  const files = paths.length === 0 ? [join(home.home, ".kube/config")] : paths;
  const found = files.flatMap((path) => readKubeconfig(path));
  if (found.length === 0) {
    if (home.inCluster && context === undefined) return [];
    const message = `no kubeconfig found (checked ${files.join(", ")}); log in to the cluster, or set KUBECONFIG to the file.`;
    return [{ key, message }];
  }
  const names = found.flatMap(({ contexts }) => contexts ?? []).map(({ name }) => name);
  const current = found
    .map((file) => file["current-context"])
    .find((name) => name !== undefined && name !== null && name !== "");
  const wanted = context ?? current;
  if (wanted !== undefined && wanted !== null && names.includes(wanted)) return [];
  const what =
    wanted === undefined || wanted === null
      ? "missing, and the kubeconfig has no current context"
      : `found ${wanted}, which the kubeconfig does not have`;
  const known = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
  return [describeInvalid(key, `${what}; ${known}.`)];
}

function readKubeconfig(path: string): readonly z.output<typeof kubeconfigSchema>[] {
  try {
    const parsed = kubeconfigSchema.safeParse(parse(readFileSync(path, "utf8")));
    return parsed.success ? [parsed.data] : [];
  } catch {
    // The file is missing or is not YAML: the caller reports this if no context is found at all.
    return [];
  }
}
