import type { ConfigProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";

/** What is wrong with how a stack wants to be watched. */
export function observabilityProblems({ observability, target }: StackConfig): readonly ConfigProblem[] {
  if (observability?.existing === undefined || target === "kubernetes") return [];
  const message =
    "found beside target docker, where there is no registry of what Prometheus scrapes. Remove it with " +
    "`pulumi config rm --path observability.existing`, and have your Prometheus scrape the URLs of the output `urls.operations`.";
  return [{ key: "observability.existing", message }];
}
