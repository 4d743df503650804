import type { SubscriptionHub } from "./subscription-hub.ts";

/** The gateway's own newHeads subscription. */
export type HeadsSubscription = Readonly<{ linkOpened: () => void; linkLost: () => void; isThere: () => boolean }>;

/**
 * Subscribes to heads while there is a connection. The hub takes the subscription over gaps by itself; when it has closed its
 * subscribers, this one comes again.
 */
export function subscribeToHeads(
  hub: Pick<SubscriptionHub, "subscribe">,
  notify: (result: string) => void,
): HeadsSubscription {
  const state = { isOpen: false, isTaken: false, isThere: false };
  const lost = () => {
    state.isTaken = false;
    state.isThere = false;
    if (state.isOpen) void subscribe();
  };
  const subscribe = async () => {
    if (!state.isTaken) {
      state.isTaken = true;
      const { kind } = await hub.subscribe('["newHeads"]', {
        caller: undefined,
        notify: ({ result }) => notify(result),
        lost,
      });
      state.isTaken = kind === "subscribed";
    }
    state.isThere = state.isTaken && state.isOpen;
  };
  return {
    linkOpened: () => {
      state.isOpen = true;
      void subscribe();
    },
    linkLost: () => {
      state.isOpen = false;
      state.isThere = false;
    },
    isThere: () => state.isThere,
  };
}
