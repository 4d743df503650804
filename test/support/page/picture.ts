import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

/** Side of the block of pixels that becomes one pixel: letters become grey, so that their placement and smoothing don't matter. */
const blockPx = 6;

/**
 * Tolerated colour difference of a pixel (0 to 1), as measured by pixelmatch, and share of pixels that may exceed it.
 */
export const tolerance = { colour: 0.15, part: 0.003 } as const;

export function readPicture(screenshot: Buffer): PNG {
  const whole = PNG.sync.read(screenshot);
  const small = new PNG({ width: Math.floor(whole.width / blockPx), height: Math.floor(whole.height / blockPx) });
  for (let y = 0; y < small.height; y += 1) {
    for (let x = 0; x < small.width; x += 1) {
      for (let channel = 0; channel < 4; channel += 1) {
        small.data[(y * small.width + x) * 4 + channel] = computeAverage(whole, { x, y, channel });
      }
    }
  }
  return small;
}

function computeAverage(
  { data, width }: PNG,
  { x, y, channel }: Readonly<Record<"x" | "y" | "channel", number>>,
): number {
  let sum = 0;
  for (let row = y * blockPx; row < (y + 1) * blockPx; row += 1) {
    for (let column = x * blockPx; column < (x + 1) * blockPx; column += 1) {
      sum += data[(row * width + column) * 4 + channel] ?? 0;
    }
  }
  return Math.round(sum / blockPx ** 2);
}

/**
 * Compares two pictures: the share of differing pixels (0 to 1), and where they are. Pixels in only one of them differ.
 */
export function comparePictures(seen: PNG, accepted: PNG): Readonly<{ part: number; difference: PNG }> {
  const size = {
    width: Math.max(seen.width, accepted.width),
    height: Math.max(seen.height, accepted.height),
  };
  const [one, other] = [expandPicture(seen, size, 0), expandPicture(accepted, size, 255)];
  const difference = new PNG(size);
  const { width, height } = size;
  const options = { threshold: tolerance.colour, includeAA: true };
  const off = pixelmatch(one.data, other.data, difference.data, width, height, options);
  return { part: off / (width * height), difference };
}

/** Puts the picture in the corner of a grey sheet. */
function expandPicture(picture: PNG, size: Readonly<{ width: number; height: number }>, grey: number): PNG {
  const sheet = new PNG(size);
  for (let at = 0; at < sheet.data.length; at += 4) sheet.data.set([grey, grey, grey, 255], at);
  PNG.bitblt(picture, sheet, 0, 0, picture.width, picture.height, 0, 0);
  return sheet;
}
