import { bearerAuth } from "hono/bearer-auth";
import type { App } from "#daemon/http/app.ts";
import type { Secret } from "#daemon/secret.ts";
import { adoptRequest, controlPath, upgradeRequest } from "./control-answers.ts";
import type { UpkeepControl } from "./upkeep-control.ts";

const starting = { error: "the sidecar is starting; ask again in a moment" };

/** Adds what `gatehouse resume`, `adopt` and `upgrade` ask a sidecar. Whoever reaches these routes may change the node. */
export function controlRoutes(app: App, current: () => UpkeepControl | undefined): void {
  app.get(controlPath, (c) => {
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(control.look());
  });
  app.post(`${controlPath}/resume`, (c) => {
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(control.resume());
  });
  app.post(`${controlPath}/adopt`, async (c) => {
    const request = adoptRequest.safeParse(await c.req.json().catch(() => undefined));
    if (!request.success) return c.json({ error: 'expected {"digest": "…"} of the plan that was seen' }, 400);
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(control.adopt(request.data.digest));
  });
  app.post(`${controlPath}/upgrade`, async (c) => {
    const request = upgradeRequest.safeParse(await c.req.json().catch(() => undefined));
    if (!request.success) return c.json({ error: 'expected {"source": "/a/directory"}' }, 400);
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(await control.upgrade(request.data));
  });
}

/** Adds the same routes where others reach the listener, for callers with the token (compared in constant time). */
export function guardedControlRoutes(app: App, current: () => UpkeepControl | undefined, token: Secret): void {
  app.use(`${controlPath}/*`, bearerAuth({ token: token.reveal() }));
  controlRoutes(app, current);
}
