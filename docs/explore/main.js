// All explorables, started where a page has an element with data-explorable.

import "./bayes.js";
import "./digits.js";
import "./discretising.js";
import "./gda.js";
import "./naive-bayes.js";
import "./normal.js";
import "./sigmoid.js";
import "./smoothing.js";
import "./which-one.js";
import { panels, start } from "./panel.js";
import * as math from "./math.js";
import * as simulation from "./which-one.js";
import * as scenes from "./smoothing.js";

// For the tests, and for those who like to look: genusExplore.math.normalCdf(1.96)
globalThis.genusExplore = { panels, math, simulation, scenes };

start();
