import type { TopStatus } from "./top-status.ts";
import { formatNumber, fit } from "./top-words.ts";

type Rates = Readonly<{ name: string; requests: number; errors: number; limited: number }>;

const gap = 2;
const numberWidth = 7;
const numbers = 3;

/** Draws the calls of the last minute by tier and by method, side by side, the busiest first. */
export function renderTrafficTable(
  { byTier, byMethod }: NonNullable<TopStatus["traffic"]>,
  width: number,
  header: (text: string) => string,
): readonly string[] {
  const tierWidth = Math.floor((width - gap) * 0.45);
  const left = renderTable(
    "Tier",
    byTier.map(({ tier, ...rates }) => ({ name: tier, ...rates })),
    tierWidth,
  );
  const right = renderTable(
    "Method",
    byMethod.map(({ method, ...rates }) => ({ name: method, ...rates })),
    width - gap - tierWidth,
  );
  return Array.from({ length: Math.max(left.length, right.length) }, (_, row) => {
    const line = `${left[row] ?? " ".repeat(tierWidth)}${" ".repeat(gap)}${right[row] ?? ""}`.trimEnd();
    return row === 0 ? header(line) : line;
  });
}

function renderTable(title: string, rows: readonly Rates[], width: number): readonly string[] {
  const nameWidth = width - numbers * numberWidth;
  const line = (name: string, ...cells: readonly string[]) =>
    fit(name, nameWidth) + cells.map((cell) => cell.padStart(numberWidth)).join("");
  return [
    line(title, "req/s", "err/s", "lim/s"),
    ...rows.map(({ name, requests, errors, limited }) =>
      line(name, formatNumber(requests), formatNumber(errors), formatNumber(limited)),
    ),
  ];
}
