"""A stage for Spark's ML pipelines, `genus.spark.Classifier`, which wraps any classifier.

    Pipeline(stages=[…, Classifier(TableClassifier(), labelCol="churned")]).fit(frame)

Rows are counted and scored by Spark's workers, which need genus in their Python. A saved stage
contains a genus model file.
"""

from __future__ import annotations

from typing import Any

try:
    from pyspark.ml import Estimator, Model
    from pyspark.ml.functions import array_to_vector
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasProbabilityCol
    from pyspark.ml.util import (
        DefaultParamsReader,
        DefaultParamsWriter,
        MLReadable,
        MLReader,
        MLWritable,
        MLWriter,
    )
    from pyspark.sql.functions import array, col
except ImportError as error:
    raise ImportError("genus.spark needs pyspark: pip install 'genus[spark]'.") from error

from sklearn.base import clone

from genus.persistence.loading import from_bytes, unfitted_from_tree
from genus.persistence.trees import parameters_to_tree
from genus.table.predictions import LABEL, probability_names

FILE = "model.genus"
METADATA = "genus"


class Stage(HasLabelCol, HasPredictionCol, HasProbabilityCol):  # type: ignore[misc]
    """The parameters of `Classifier` and `ClassifierModel`: names of columns."""

    featuresCol: Any = Param(
        Params._dummy(),
        "featuresCol",
        "a column of vectors; by default all columns except the label and the weight are read",
        TypeConverters.toString,
    )
    weightCol: Any = Param(
        Params._dummy(), "weightCol", "a column of weights", TypeConverters.toString
    )

    def _named(self, param: Any) -> str | None:
        return self.getOrDefault(param) if self.isDefined(param) else None


class Classifier(Estimator, Stage, MLReadable, MLWritable):  # type: ignore[misc]
    """A pipeline stage that fits a genus classifier to a Spark frame."""

    def __init__(
        self,
        classifier: Any = None,
        *,
        labelCol: str = "label",
        featuresCol: str | None = None,
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
    ) -> None:
        super().__init__()
        self.classifier = classifier
        self._setDefault(labelCol="label", predictionCol="prediction", probabilityCol="probability")
        self._set(labelCol=labelCol, predictionCol=predictionCol, probabilityCol=probabilityCol)
        named = {"featuresCol": featuresCol, "weightCol": weightCol}
        self._set(**{name: column for name, column in named.items() if column is not None})

    def _check(self) -> None:
        if self.classifier is None:
            raise ValueError(
                "The stage has no classifier. Give one: Classifier(TableClassifier())."
            )

    def _fit(self, dataset: Any) -> ClassifierModel:
        self._check()
        features = self._named(self.featuresCol)
        fitted = clone(self.classifier).fit(
            dataset,
            target=self.getLabelCol(),
            columns=None if features is None else [features],
            sample_weight=self._named(self.weightCol),
        )
        return self._copyValues(ClassifierModel(fitted))

    def write(self) -> MLWriter:
        self._check()  # here, because the writer may first remove an older stage
        return Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return Reader(cls)


class ClassifierModel(Model, Stage, MLReadable, MLWritable):  # type: ignore[misc]
    """A pipeline stage that adds the most probable class and a vector of probabilities.

    `model` is the genus classifier; the vector has the order of `model.classes_`.
    """

    def __init__(self, model: Any = None) -> None:
        super().__init__()
        self._setDefault(labelCol="label", predictionCol="prediction", probabilityCol="probability")
        self.model = model

    def _transform(self, dataset: Any) -> Any:
        from genus.engines import open_rows
        from genus.estimators.scoring import score_elsewhere

        engine: Any = open_rows(dataset)
        scored = score_elsewhere(self.model, engine, label=True, probabilities=True)
        names = probability_names(self.model.classes_)
        vector = array_to_vector(array(*(col(quoted(name)) for name in names)))
        scored = scored.withColumn(self.getProbabilityCol(), vector).drop(*names)
        predicted = col(LABEL)
        if self.model.classes_.dtype.kind in "biuf":
            predicted = predicted.cast("double")  # as Spark's evaluators expect
        scored = scored.withColumn(LABEL, predicted)
        return scored.withColumnRenamed(LABEL, self.getPredictionCol())

    def write(self) -> MLWriter:
        return Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return Reader(cls)


def quoted(name: str) -> str:
    """Return the name of a column, quoted for a Spark expression."""
    return "`" + name.replace("`", "``") + "`"


# Files


class Writer(MLWriter):  # type: ignore[misc]
    """Writes a stage: Spark's metadata, and the genus file of a fitted stage."""

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self.stage = stage

    def saveImpl(self, path: str) -> None:
        """Write the stage to a new folder, on any file system that Spark supports."""
        session = self.sparkSession
        classifier = self.stage.classifier if isinstance(self.stage, Classifier) else None
        own = {}
        if classifier is not None:
            parameters = parameters_to_tree(classifier.get_params(deep=False))
            own = {"estimator": type(classifier).__name__, "parameters": parameters}
        DefaultParamsWriter.saveMetadata(self.stage, path, session, extraMetadata={METADATA: own})
        if classifier is None:
            place = session._jvm.org.apache.hadoop.fs.Path(path, FILE)
            system = place.getFileSystem(session._jsc.hadoopConfiguration())
            stream = system.create(place, True)
            try:
                stream.write(bytearray(self.stage.model.to_bytes()))
            finally:
                stream.close()


class Reader(MLReader):  # type: ignore[misc]
    """Reads a saved stage."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """Return the stage that is saved in a folder."""
        session = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, session)
        if self.kind is Classifier:
            stage: Any = Classifier(unfitted_from_tree(metadata[METADATA]))
        else:
            rows = session.read.format("binaryFile").load(f"{path}/{FILE}").collect()
            stage = ClassifierModel(from_bytes(bytes(rows[0]["content"])))
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        return stage
