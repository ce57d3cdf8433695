"""The room that draws the curves of scored runs and shows the pairs behind them."""
