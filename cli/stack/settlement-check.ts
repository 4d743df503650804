import { z } from "zod";
import { StartupError } from "#daemon/process/startup-error.ts";

const supportedSchema = z.object({
  kinds: z.array(z.unknown()),
  error: z.string().default("the facilitator reports no reason"),
  signers: z.record(z.string(), z.array(z.string())),
});

const timeoutMs = 5_000;

/**
 * Verifies that the facilitator, which has checked its chain and signer by now, can settle payments. `freshStart`: the command that starts
 * the stack with a new chain.
 *
 * @throws {StartupError} with the reason, and the command that funds the signer, when nothing can be sold.
 */
export async function requireSettlement(facilitatorUrl: string, freshStart: string): Promise<void> {
  const response = await fetch(`${facilitatorUrl}/supported`, { signal: AbortSignal.timeout(timeoutMs) });
  const { kinds, error, signers } = supportedSchema.parse(await response.json());
  if (kinds.length > 0) return;
  const addresses = Object.values(signers).flat().join(",");
  throw new StartupError([
    `nothing can be sold, because the facilitator can't settle: ${error}.`,
    `To fund its signer on a new chain: GATEHOUSE_DEVNET_CHAIN_FUND=${addresses} ${freshStart}`,
  ]);
}
