import { z } from "zod";
import type { Routes } from "./resource-server-spec.ts";

const offer = z.object({ payTo: z.string().optional() });
const offering = z.object({ accepts: z.union([z.array(offer), offer]) });

/**
 * The accounts that a stack's resource server may be paid at: its `payTo`, and what single offers of its routes name instead. Routes
 * that have not the right form name none; the resource server's own schema refuses them.
 */
export function payeesOf(payTo: string | undefined, routes: Routes): readonly string[] {
  const named = Object.values(routes).flatMap((route) => {
    const parsed = offering.safeParse(route);
    return parsed.success ? [parsed.data.accepts].flat().map((accepted) => accepted.payTo ?? payTo) : [];
  });
  const accounts = [payTo, ...named].filter((account) => account !== undefined);
  return [...new Map(accounts.map((account) => [account.toLowerCase(), account])).values()];
}
