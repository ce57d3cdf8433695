import {attempt} from "/static/common.js";
