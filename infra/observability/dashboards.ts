import { readProgramFile } from "#daemon/files/program-files.ts";
import { setRunbookBase, type RunbookOptions } from "./rules.ts";

export type LinkOptions = RunbookOptions &
  Readonly<{
    /** URL of the stack's logs; may contain dashboard variables such as `${stack}`, which Grafana expands. */
    logsUrl?: string | undefined;
  }>;

const uids = ["gatehouse-overview", "gatehouse-node", "gatehouse-gateway", "gatehouse-payments"] as const;

/** Renders the dashboards in `dashboards/` for import into Grafana 10.3 and later, with links to these runbooks and logs. */
export function renderDashboards({
  runbookBaseUrl,
  logsUrl,
}: LinkOptions): readonly Readonly<Record<"uid" | "fileName" | "text", string>>[] {
  return uids.map((uid) => {
    const fileName = `${uid}.json`;
    const text = setRunbookBase(readProgramFile("infra/observability/dashboards", fileName), runbookBaseUrl);
    return { uid, fileName, text: logsUrl === undefined ? text : addLogsLink(text, logsUrl) };
  });
}

function addLogsLink(text: string, url: string): string {
  const dashboard = JSON.parse(text) as Readonly<{ links: readonly unknown[] }>;
  const links = [...dashboard.links, { title: "Logs", url, targetBlank: true, type: "link" }];
  return `${JSON.stringify({ ...dashboard, links }, undefined, 2)}\n`;
}
