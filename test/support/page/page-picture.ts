import type { Browser, Page } from "playwright-core";
import type { PNG } from "pngjs";
import { readPicture } from "./picture.ts";

export type PictureOptions = Readonly<{
  url: string;
  nowMs: number;
  width: number;
  colorScheme: "light" | "dark";
  /** Resolves when the page shows the content of the picture. */
  ready: (page: Page) => Promise<void>;
  /** Responses of the page's service by path, if they differ from its own. */
  answers?: Readonly<Record<string, unknown>>;
  /** Returns whether a picture equals the accepted one, so that no other is needed. */
  isAccepted?: (picture: PNG) => boolean;
}>;

/** The fonts of all pictures, so that lines break at the same places. */
const fonts = `
* { font-family: "DejaVu Sans" !important }
:is(code, pre, .command) { font-family: "DejaVu Sans Mono" !important }`;

/** Max screenshots until two are equal. */
const shotsMax = 30;

/** Takes a picture of a page at a sixth of its size, with fixed fonts, clock, time zone and language, and without motion. */
export async function takePicture(browser: Browser, options: PictureOptions): Promise<PNG> {
  const { url, nowMs, width, colorScheme, ready, answers: responses = {} } = options;
  const { isAccepted = () => false } = options;
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    deviceScaleFactor: 1,
    colorScheme,
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
  });
  await using _ = { [Symbol.asyncDispose]: () => context.close() };
  const page = await context.newPage();
  await page.clock.setFixedTime(nowMs);
  await page.route("**/*.css", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()) + fonts });
  });
  for (const [path, json] of Object.entries(responses))
    await page.route(`**${path}`, (route) => route.fulfill({ json }));
  await page.goto(url);
  await ready(page);
  return await takePictureAtRest(page, isAccepted);
}

/**
 * Takes screenshots until two in a row are equal, because a browser draws in several steps, or one equals the accepted
 * one.
 */
async function takePictureAtRest(page: Page, isAccepted: (picture: PNG) => boolean): Promise<PNG> {
  let before: Buffer | undefined;
  for (let shots = 0; shots < shotsMax; shots += 1) {
    const shot = await page.screenshot({ fullPage: true, animations: "disabled" });
    const picture = readPicture(shot);
    if (before?.equals(shot) === true || isAccepted(picture)) return picture;
    before = shot;
  }
  throw new Error(`${page.url()} still changed after ${shotsMax} screenshots`);
}

/** Widths of a line in the pictures' fonts, at 100 px. */
const knownWidths = { "DejaVu Sans": 1290.6, "DejaVu Sans Mono": 1444.9 };

export async function explainMissingFonts(browser: Browser): Promise<string | undefined> {
  const page = await browser.newPage();
  await using _ = { [Symbol.asyncDispose]: () => page.close() };
  const missing: string[] = [];
  for (const [font, known] of Object.entries(knownWidths)) {
    const width = await page.evaluate<number>(`(() => {
      const drawing = document.createElement("canvas").getContext("2d");
      drawing.font = '100px "${font}", serif';
      return drawing.measureText("Node down for 1 min 15 s").width;
    })()`);
    if (Math.abs(width - known) > 1) missing.push(font);
  }
  if (missing.length === 0) return undefined;
  return `no font ${missing.join(", ")} as in the pictures; on Debian: apt-get install fonts-dejavu-core`;
}
