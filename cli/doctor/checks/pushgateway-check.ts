import { getText } from "#daemon/http/get.ts";
import { maskCredentials } from "#daemon/secrets/mask.ts";
import { checkLimits } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";

const look = createFindings("pushgateway");

/** Checks that the sidecar's Pushgateway is ready. The condition MetricsArriving says whether the node's metrics arrive there. */
export const pushgatewayCheck: Check = async ({ services }) => {
  const sidecars = services.flatMap(({ settings }) => (settings?.ok === true ? [settings.facts] : []));
  const urls = sidecars.flatMap(({ pushgatewayUrl }) => (pushgatewayUrl === undefined ? [] : [pushgatewayUrl]));
  if (urls.length === 0) {
    return [
      look("Pushgateway", "skipped", "no settings name one; set GATEHOUSE_SIDECAR_PUSHGATEWAY_URL to have it watched"),
    ];
  }
  return Promise.all(urls.map((url) => checkPushgateway(url)));
};

async function checkPushgateway(url: string): Promise<Finding> {
  const shown = maskCredentials(url);
  const got = await getText(new URL("-/ready", url.endsWith("/") ? url : `${url}/`).href, checkLimits);
  if (!got.ok) {
    return look(
      "Pushgateway",
      "wrong",
      `${shown} gives no answer (${got.why}); start it, or set GATEHOUSE_SIDECAR_PUSHGATEWAY_URL to where it runs`,
    );
  }
  if (got.status === 200) return look("Pushgateway", "right", `${shown} is ready`);
  return look(
    "Pushgateway",
    "wrong",
    `${shown}/-/ready answers HTTP ${got.status}; look at its log, or whether that is a Pushgateway`,
  );
}
