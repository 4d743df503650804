import { createJsonRpcClient, NoJsonRpcAnswerError } from "#daemon/http/json-rpc-client.ts";
import { maskCredentials } from "#daemon/secrets/mask.ts";
import { z } from "zod";
import { checkLimits } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import type { UsedChain } from "../known-service.ts";

const look = createFindings("node");

/** Age from which a head is old, for a service that has no setting for it. */
const oldHeadMs = 120_000;
/** Time by which a block may lie in the future before a clock is called wrong; miners' clocks and this machine's differ a little. */
const futureHeadMs = 15_000;

const head = z.object({ timestamp: z.string(), number: z.string() });

/** Checks that the node of each service answers, is on the right chain, and has a recent head. */
export const nodeCheck: Check = async ({ services, clock }) => {
  const chains = services.flatMap(({ service, settings }) => {
    if (settings === undefined) return [];
    if (!settings.ok || settings.facts.chain === undefined) return [];
    return [{ service, chain: settings.facts.chain, staleAfterMs: settings.facts.staleAfterMs ?? oldHeadMs }];
  });
  if (chains.length === 0)
    return [look("node", "skipped", "no settings say where it is; a running sidecar or gateway reports it itself")];
  const found = await Promise.all(chains.map(({ service, ...about }) => checkNode(service, about, clock)));
  return found.flat();
};

type About = Readonly<{ chain: UsedChain; staleAfterMs: number }>;

async function checkNode(
  service: string,
  { chain, staleAfterMs }: About,
  clock: () => number,
): Promise<readonly Finding[]> {
  const { url, chainId, setting } = chain;
  const call = createJsonRpcClient({ url, ...checkLimits });
  const shown = maskCredentials(url);
  try {
    const answered = await call("eth_chainId", []);
    if (!answered.ok) return [look(service, "unknown", `${shown} refuses eth_chainId: ${answered.error.message}`)];
    const found = Number(answered.result);
    if (found !== chainId)
      return [
        look(
          service,
          "wrong",
          `${shown} is on chain ${found}, expected ${chainId}; set ${setting} to a node of that chain`,
        ),
      ];
    const latest = await call("eth_getBlockByNumber", ["latest", false]);
    const block = latest.ok ? head.safeParse(latest.result) : undefined;
    if (block?.success !== true)
      return [look(service, "unknown", `${shown} is on chain ${chainId}, and does not report its latest block`)];
    return [judgeHead(service, shown, { ...block.data, staleAfterMs, nowMs: clock() })];
  } catch (error) {
    if (!(error instanceof NoJsonRpcAnswerError)) throw error;
    return [
      look(
        service,
        "wrong",
        `${shown} gives no answer (${error.message}); look whether the node runs, or set ${setting} to where it does`,
      ),
    ];
  }
}

type Head = z.output<typeof head> & Readonly<{ staleAfterMs: number; nowMs: number }>;

function judgeHead(service: string, shown: string, { number, timestamp, staleAfterMs, nowMs }: Head): Finding {
  const ageMs = nowMs - Number(timestamp) * 1_000;
  const block = `block ${Number(number)}`;
  if (ageMs < -futureHeadMs) {
    return look(
      service,
      "wrong",
      `${shown} has ${block}, which is ${Math.round(-ageMs / 1_000)} s in the future of this machine's clock; \`timedatectl status\` on both shows whose is wrong`,
    );
  }
  if (ageMs > staleAfterMs) {
    return look(
      service,
      "wrong",
      `${shown} answers, but its latest, ${block}, is ${Math.round(ageMs / 1_000)} s old; look at its peers and its log, unless this chain makes blocks on demand alone`,
    );
  }
  return look(service, "right", `${shown} answers with ${block}, ${Math.max(0, Math.round(ageMs / 1_000))} s old`);
}
